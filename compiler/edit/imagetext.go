package edit

import (
	"fmt"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// replacePart returns the new text of a value that is the part of an image from an index
// on, when the tag and the digest of the image change.
func replacePart(before, after fleet.ImageReference, text string, at int) (string, error) {
	whole := before.String()
	if at < 0 || at+len(text) > len(whole) || whole[at:at+len(text)] != text {
		// A patch has changed the repository.
		if rest, ok := strings.CutSuffix(text, before.Suffix()); ok && rest != "" {
			return rest + after.Suffix(), nil
		}
		return "", fmt.Errorf("it is not part of the reference of the image")
	}
	out := ""
	end := at + len(text)
	from := 0
	for _, s := range []struct{ before, after, kind string }{
		{before.Repository, after.Repository, "repository"}, {prefixed(":", before.Tag), prefixed(":", after.Tag), "tag"}, {prefixed("@", before.Digest), prefixed("@", after.Digest), "digest"},
	} {
		to := from + len(s.before)
		if low, high := max(at, from), min(end, to); low < high {
			head, tail := s.before[:low-from], s.before[high-from:]
			if !strings.HasPrefix(s.after, head) || !strings.HasSuffix(s.after, tail) || len(head)+len(tail) >= len(s.after) {
				return "", fmt.Errorf("%q is around it in the %s, and not in %q", strings.TrimLeft(head, ":@")+"..."+tail, s.kind, strings.TrimLeft(s.after, ":@"))
			}
			out += s.after[len(head) : len(s.after)-len(tail)]
		}
		from = to
	}
	return out, nil
}

// prefixed returns a text with a prefix, or nothing for no text.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// endsTag reports whether a part of an image from an index on ends where its tag ends.
func endsTag(before fleet.ImageReference, text string, at int) bool {
	return at < 0 || at+len(text) == len(before.Repository)+len(prefixed(":", before.Tag))
}
