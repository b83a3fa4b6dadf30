// Package fhir reads the resources of FHIR R4, R4B and R5 that a triage note is made of. It knows what differs between
// the versions, not what a resource means for a visit.
//
// A resource has one struct for all versions, with the fields that are used: where R5 moved or renamed one, both are
// read into the same place. A field of the wrong type is an error, an unknown one is skipped.
package fhir
