// Pebble, an ACME server for tests, as a tool: nothing of fleetc requires it.
module github.com/fleetc/fleetc/testdata/pebble

go 1.26.0

tool github.com/letsencrypt/pebble/v2/cmd/pebble

require github.com/letsencrypt/pebble/v2 v2.10.3

require (
	github.com/go-jose/go-jose/v4 v4.1.8 // indirect
	github.com/letsencrypt/challtestsrv v1.4.2 // indirect
	github.com/miekg/dns v1.1.62 // indirect
	golang.org/x/net v0.55.0 // indirect
	golang.org/x/sys v0.45.0 // indirect
)
