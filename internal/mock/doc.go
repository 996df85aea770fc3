// Package mock answers HTTP requests as an OpenAPI document says: in goes an openapi.Document, out comes an http.Handler
// in which every answer is made at load, so that a request costs a walk over its path and one write.
//
// Server runs one mock with its own listeners (what a mock's pod runs); Local runs all mocks of a repository on loopback.
package mock
