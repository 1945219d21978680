// Package schema holds the CUE schema of a fleet: #Cluster, #Releases,
// #Release, #Chart and #Stages. The files are embedded in the binary, and a
// user's repository vendors them, so that editors and the cue command see
// what the compiler sees. The package reads and writes nothing.
package schema

import "embed"

// ImportPath is the CUE import path of the schema.
const ImportPath = "github.com/fleetc/fleetc/schema"

// Files are the CUE files of the schema, at the top of the file system.
//
//go:embed *.cue
var Files embed.FS
