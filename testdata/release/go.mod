// Programs and tests for releases. Nothing of fleetc needs what they import.
module github.com/fleetc/fleetc/testdata/release

go 1.26.0

require (
	github.com/google/licensecheck v0.3.1
	github.com/spdx/tools-golang v0.5.7
	golang.org/x/tools v0.52.0
)

require (
	github.com/anchore/go-struct-converter v0.1.0 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/telemetry v0.0.0-20261010193011-f71dc92da45e // indirect
	golang.org/x/vuln v1.9.0 // indirect
)

tool golang.org/x/vuln/cmd/govulncheck
