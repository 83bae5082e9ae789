// Package project holds the tests of the repository as a whole: house style, dependencies, and
// that the documents name tests that exist. It has no code of its own.
package project
