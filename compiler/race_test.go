//go:build race

package compiler

const racing = true // whether the tests look for races
