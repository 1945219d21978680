// The schema of SARIF 2.1.0, which this module ships for its own tests. Nothing
// of fleetc requires it.
module github.com/fleetc/fleetc/testdata/sarif

go 1.26.0

require github.com/securego/gosec/v2 v2.30.0 // indirect
