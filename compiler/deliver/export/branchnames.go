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
		Hint: BranchHint(name),
	}
}

// BranchHint returns what to do about an invalid branch name.
func BranchHint(name string) string {
	if short, ok := strings.CutPrefix(name, "refs/heads/"); ok && IsBranchName(short) {
		return "write " + short + " without refs/heads/"
	}
	if isOtherRef(name) {
		return "write the name of a branch, such as main"
	}
	return "use letters, digits, dashes and slashes, without a slash at the end"
}

// isOtherRef reports whether git understands a name as another reference than the branch: a
// branch refs/heads/main would be the reference refs/heads/refs/heads/main.
func isOtherRef(name string) bool {
	return name == "HEAD" || name == "@" || strings.HasPrefix(name, "refs/")
}

// IsBranchName reports whether a branch can have the name, by the rules of
// git-check-ref-format(1). A name that begins with a dash would be an option of git. Names
// that git understands otherwise, such as HEAD, are mistakes.
func IsBranchName(name string) bool {
	if isOtherRef(name) {
		return false
	}
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
