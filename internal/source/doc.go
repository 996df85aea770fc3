// Package source turns a git remote, a local repository or a plain folder into its newest desired.Revision and a tree of
// files. In goes a Config; out come a Revision and an fs.FS that never changes.
//
// Nothing is ever checked out: a tree reads git objects, so what it holds is a function of the commit alone. A remote is
// mirrored into a bare object store of ours below Config.DataDir, a local repository is read where it stands and never
// written to, and a folder without git is copied into memory as a snapshot.
//
// # Refs
//
// A ref is found as "git clone --branch" finds it: a branch before a tag of the same name, so that nobody who may push
// tags can take a protected branch over; refs/tags/x names the tag. Then refs/x, then the name as it stands. 40 hex
// digits are always a commit. Tags are peeled to the commit; a tag or branch that moves, also backwards, is followed.
//
// # Trees
//
// A tree of a remote stays readable while its commit is kept (Source.Keep) or among the eight newest; a tree of a local
// repository while git does not prune it; a snapshot always, but for files that are too large to hold.
//
// Trees implement fs.ReadDirFS, fs.ReadFileFS, fs.StatFS and fs.ReadLinkFS and may be used by many goroutines. A symbolic
// link is shown as fs.ModeSymlink and never followed: Lstat and ReadLink describe it, everything else answers ErrLink, and
// whoever wants to follow it decides about its target. FileInfo.Sys is a string that is equal only for equal content. A
// submodule is an empty folder: its commit belongs to another repository, which nobody named as a source.
package source
