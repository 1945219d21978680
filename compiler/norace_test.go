//go:build !race

package compiler

const racing = false // whether the tests look for races
