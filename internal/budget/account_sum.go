package budget

// Add charges what has been charged to another account, as if each of its charges were made here,
// in their order. It reports false, and changes nothing, where the member exceeds its limit by
// them: which charge does so is found by making them one by one.
func (a *Account) Add(other *Account) bool {
	if a == nil {
		return true
	}
	sum := a.spent.plus(other.spent)
	if _, over := sum.exceeds(memberLimit()); over {
		return false
	}
	a.spent = sum
	if !other.top.IsZero() && (other.share > a.share || a.top.IsZero()) {
		a.top, a.share = other.top, other.share
	}
	return true
}
