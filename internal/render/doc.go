// Package render turns the files of one commit into a desired.State: kustomizations are built, plain folders are read,
// objects are checked, and the kinds of ours are lowered into objects, routes and schedules. It is pure: in goes an fs.FS,
// out comes a sorted State or every problem at once, each with its place. The files are hostile input: nothing is fetched
// or run, no path leads out of the tree, sizes are bounded, and no value of a Secret stands in a problem.
package render
