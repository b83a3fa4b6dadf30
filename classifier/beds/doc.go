// Package beds forecasts how many beds the patients of an emergency department will need: for each ward and all wards
// together, the distribution of the admissions that are decided within some hours.
//
// The count at t over a horizon h is that of visits with a decision to admit in (t, t+h]. It has two components:
// patients who wait at t, and patients who arrive later, the coming.
//
//	symbol   meaning
//	p        calibrated probability of admission at triage; L its log-odds
//	τ        time already waited
//	A, L     distribution functions of the time to decision of the admitted and of all others
//	q        probability of admission within the horizon, given p and τ
//	δ        correction of the log-odds by the last weeks
//	z, σ     error of the log-odds that all patients share, z standard normal
//	μ, k     mean of the coming, shape of the gamma that multiplies the arrivals of a day
//
// The number of admissions of those waiting is Poisson-binomial in their q, that of the coming negative binomial; both
// are mixed over the shared error z. The distribution of all wards is that of the q of all, not the convolution of the
// wards.
//
// FitHistory learns times, wards and rates from past visits; the Fit is plain data. New makes a Forecaster of it, whose
// Forecast takes a Moment: who waits, and the last weeks. A Pool makes the Moment from predictions and outcomes.
// Score, Measure and Calibrated say how good forecasts were.
//
// Nothing passed in is modified. A Forecaster is safe for concurrent use; a Pool and the distributions are not while
// they change. Equal input in equal order gives equal results to the last bit, on one architecture.
//
// Sources: the count as a Poisson-binomial with a probability for each patient, and the comparison of services, are
// those of King et al. 2022 (npj Digital Medicine 5, 104). The randomised probability integral transform is replaced by
// the non-randomised one of Czado, Gneiting & Held 2009 (Biometrics 65). The shared error, the conditioning on the time
// waited by competing risks and the evaluation are our own.
package beds
