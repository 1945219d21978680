package export

import (
	"fmt"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// checkBranch returns a fault for an invalid branch name.
func checkBranch(name string) error {
	if IsBranchName(name) {
		return nil
	}
	return &diag.Diag{
		Code: diag.CodeGitAddress,
		Msg:  fmt.Sprintf("%q is not a valid branch name", diag.Visible(name, diag.MaxText)),
		Hint: "use letters, digits, dashes and slashes",
	}
}

// IsBranchName reports whether a branch can have the name, by the rules of
// git-check-ref-format(1). A name that begins with a dash would be an option of git.
func IsBranchName(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == 0x7f || strings.IndexByte(`~^:?*[\`, c) >= 0 {
			return false
		}
	}
	return name[0] != '-' && !strings.HasSuffix(name, ".") && !strings.Contains(name, "..") && !strings.Contains(name, "@{")
}
