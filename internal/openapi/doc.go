// Package openapi turns the files of an OpenAPI 3.0 or 3.1 description into one self-contained, validated document: in go
// a name and a reader of files, out comes canonical JSON in which everything keeps the order and the exact numbers that
// its author wrote. It never asks the network and reads nothing but through the reader that it is given.
package openapi
