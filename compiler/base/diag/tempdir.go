package diag

// NoTempFile returns the fault for an error of creating a temporary file or directory,
// which a read-only file system of a container prevents.
func NoTempFile(err error) error {
	return &Diag{Code: CodeFileSystem, Msg: "cannot create a temporary file: " + err.Error(), Hint: "set TMPDIR to a writable directory", Cause: err}
}
