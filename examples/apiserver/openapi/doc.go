// Package openapi describes kinds in the form of OpenAPI v3 that kubectl reads: to explain a
// field, and to find out what parameters a request may have.
//
// # Usage
//
//	document, err := openapi.Document(kinds.Table(), schema.GroupVersion{Version: "v1"})
//
// The schemas of custom kinds are those of their definitions. The others are made from the Go types of the kinds, by reflection, with the descriptions that
// the types come with. What only comments in their source say is not in them: enumerations,
// defaults, and how lists are merged; a field counts as required when it is never left out.
//
// # Guarantees
//
//  1. The properties of a schema, their types, references and descriptions are those that the real
//     server was recorded to give. (TestRecordedSchemas)
//  2. The schema of a custom kind is the recorded one, whole. (TestRecordedCustomSchemas)
//
// # Concurrency
//
// The functions may be called from many goroutines.
//
// # Testing
//
// It needs no server.
package openapi
