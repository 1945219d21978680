//go:build race

package fleets

// Racing is whether the tests look for races.
const Racing = true
