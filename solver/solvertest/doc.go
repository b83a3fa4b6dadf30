// Package solvertest is the contract that every method of package solver keeps, as a test suite. A method's tests call
//
//	solvertest.Run(t, newMethod, solvertest.Promises{…})
//
// and add what is particular to the method.
package solvertest
