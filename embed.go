// Package fleetc contains the CUE that fleets are written with: the schema with #Cluster,
// #Releases, #Release, #Chart and #Stages, and the libraries for users, which are policies,
// patches and stacks in CUE and fleetc.libsonnet for Jsonnet.
//
// The files are embedded in the binary. A user's repository has copies of those in CUE, so
// that editors and the cue command see the same files as the compiler.
package fleetc

import (
	"embed"
	"io/fs"
)

// SchemaPath is the CUE import path of the schema.
const SchemaPath = "github.com/fleetc/fleetc/schema"

// LibraryPath is the CUE import path of the directory with the libraries.
const LibraryPath = "github.com/fleetc/fleetc/lib"

// Schema contains the CUE files of the schema.
var Schema = directory("schema")

// Library contains fleetc.libsonnet, and a directory with CUE files for each library.
var Library = directory("lib")

//go:embed schema/*.cue lib/fleetc.libsonnet lib/*/*.cue
var embedded embed.FS

// directory returns the files below an embedded directory.
func directory(name string) fs.FS {
	files, err := fs.Sub(embedded, name)
	if err != nil {
		panic(err) // only for a name that is not a path
	}
	return files
}
