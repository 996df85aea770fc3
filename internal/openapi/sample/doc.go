// Package sample makes values that fit the schemas of an OpenAPI document: in goes a document that was bundled and one of
// its schemas, out comes JSON, the same for the same seed, bounded in size and work, and held against the schema once more.
package sample
