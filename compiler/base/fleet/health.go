package fleet

import (
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// A HealthRule says when objects are ready, in place of what is known of their
// kind. Each field that is not set leaves that to the next rule that matches.
// The names of its fields in JSON stay as they are: rules are recorded in
// clusters.
type HealthRule struct {
	Name        string        `json:"name"`
	Match       Selector      `json:"match"`
	Wait        *bool         `json:"wait,omitempty"`        // whether objects are waited for at all; nil when the rule does not say
	Timeout     time.Duration `json:"timeout,omitempty"`     // how long an object is waited for; 0 when the rule does not say
	Ready       []HealthTest  `json:"ready,omitempty"`       // all of which hold for an object that is ready
	Progressing []HealthTest  `json:"progressing,omitempty"` // one of which holds for an object that is neither ready nor failed
	Failed      []HealthTest  `json:"failed,omitempty"`      // one of which holds for an object that does not get ready by itself
	Texts       []MatchText   `json:"-"`                     // of Match, or of the name that is a kind
	Pos         diag.Pos      `json:"-"`                     // where the rule is written
}

// A HealthTest is one look at a live object: at one of status.conditions, or,
// when Type is empty, by an expression.
type HealthTest struct {
	Type       string   `json:"type,omitempty"`
	Status     string   `json:"status,omitempty"`
	Reasons    []string `json:"reasons,omitempty"`    // of which the condition has one; any when empty
	Expression string   `json:"expression,omitempty"` // CEL
	Pos        diag.Pos `json:"-"`                    // where the test is written
}
