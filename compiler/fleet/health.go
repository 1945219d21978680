package fleet

import (
	"time"

	"github.com/fleetc/fleetc/compiler/diag"
)

// A HealthRule says when objects are ready, in place of what is known of their
// kind. Each field that is not set leaves that to the next rule that matches.
type HealthRule struct {
	Name        string
	Match       Selector
	Wait        *bool         // whether objects are waited for at all; nil when the rule does not say
	Timeout     time.Duration // how long an object is waited for; 0 when the rule does not say
	Ready       []HealthTest  // all of which hold for an object that is ready
	Progressing []HealthTest  // one of which holds for an object that is neither ready nor failed
	Failed      []HealthTest  // one of which holds for an object that does not get ready by itself
	Pos         diag.Pos      // where the rule is written
}

// A HealthTest is one look at a live object: at one of status.conditions, or,
// when Type is empty, by an expression.
type HealthTest struct {
	Type, Status string
	Reasons      []string // of which the condition has one; any when empty
	Expression   string   // CEL
	Pos          diag.Pos // where the test is written
}
