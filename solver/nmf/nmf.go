package nmf

// The methods without settings.
type (
	// NMF is the non-negative matrix factorization by multiplicative updates.
	NMF struct{}
	// ONMF is the non-negative matrix factorization with nearly orthogonal topics of length one.
	ONMF struct{}
	// SemiNMF is the factorization with non-negative scores and topics of either sign.
	SemiNMF struct{}
	// LogNMF is the factorization of the log-odds of a 0/1 matrix with non-negative topics and scores of either sign.
	LogNMF struct{}
)

// Name returns "nmf".
func (NMF) Name() string { return "nmf" }

// Name returns "onmf".
func (ONMF) Name() string { return "onmf" }

// Name returns "semi-nmf".
func (SemiNMF) Name() string { return "semi-nmf" }

// Name returns "log-nmf".
func (LogNMF) Name() string { return "log-nmf" }
