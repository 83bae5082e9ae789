// Package structural applies the schema of a custom kind to its objects: it takes away what the schema does not
// know, fills in defaults, and finds what is wrong.
//
// # Usage
//
//	schema, errs := structural.New(version.Schema.OpenAPIV3Schema, path)
//	unknown, err := schema.Prune(object)
//	schema.Default(object)
//	errs = schema.Validate(object)
//
// What structure is, and what a schema has no place for, k8s.io/apiextensions-apiserver says; values are checked by
// k8s.io/kube-openapi. Rules in CEL are refused, since to evaluate them would take 120 more packages.
//
// # Guarantees
//
//  1. What is wrong with an object is worded as the real server was recorded to do. (TestValidate)
//  2. What was pruned and completed once stays as it is. (FuzzSchema)
//  3. No schema, and no object, takes more than its size in time, or ends the process. (FuzzSchema,
//     TestHostileSchemas)
//
// # Concurrency
//
// A [Schema] never changes and may be used by many goroutines.
//
// # Testing
//
// It needs no server.
package structural
