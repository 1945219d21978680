package fleet

// A RemoteSource is remote content that kustomizations refer to, pinned by
// digest: a file, or directories of a git repository at a commit.
type RemoteSource struct {
	Address string   // as written in kustomizations; of a chart, its location and version
	Chart   ChartRef // the pinned chart; zero for another source
	Git     GitRef   // with the path in the address; without a URL for a file
	Dirs    []string // pinned directories of the git repository, sorted
	Digest  string   // sha256:hex of the file, or of an archive of the directories
}

// IsChart reports whether the source is a Helm chart.
func (s RemoteSource) IsChart() bool { return s.Chart != ChartRef{} }

// String returns the address.
func (s RemoteSource) String() string { return s.Address }

// RemoteFiles are the files of a [RemoteSource] other than a chart.
type RemoteFiles struct {
	Name  string // name and version, for messages; equal names have equal files
	Path  string // path of the file or directory in the address
	Files FileTree
}

// A FileTree has files by clean, slash-separated paths.
type FileTree interface {
	IsDir(name string) bool
	Read(name string) ([]byte, error) // fs.ErrNotExist for a missing file
}
