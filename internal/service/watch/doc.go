// Package watch measures, while notes are scored, how they differ from those that the models were trained on, and
// whether the predictions come true.
//
// Drift counts notes as they are scored: a few additions for each, no label, no note kept. Labels joins predictions
// with the outcomes that come hours or days later; it is fed by whoever reads the two KafkaTopics, never by the scorer.
// Both are prometheus.Collector and safe for concurrent use.
//
// # Drift
//
// Counts are of the last seven days and today, in UTC, from the start of the process on, by model. A model that is
// taken over into a new generation goes on counting. What training has not recorded is left out.
//
//	wardcast_drift_notes{model}                             notes counted
//	wardcast_score_psi{model}                               population stability index of the probabilities
//	wardcast_score_psi_expected{model}                      what chance alone makes of it
//	wardcast_topic_psi{model}                               population stability index of the main topics
//	wardcast_topic_psi_expected{model}                      what chance alone makes of it
//	wardcast_known_term_ratio{model}                        share of the notes' terms that the model knows
//	wardcast_known_term_training_ratio{model}               the same in training
//	wardcast_unknown_level_ratio{model,column}              share of values that a categorical column does not know
//	wardcast_unknown_level_training_ratio{model,column}     the same in training
//
// # Late labels
//
// Visits count whose first prediction was made between eight days and one day ago: most of them are decided by then. Of
// visits that are decided quickly too few are admitted, so younger ones would look like drift. By name of the model,
// whatever its version:
//
//	wardcast_labelled_notes{model}                          visits with a prediction and an outcome
//	wardcast_labelled_admissions{model}                     those that were admitted
//	wardcast_undecided_notes{model}                         visits with a prediction and no outcome
//	wardcast_calibration_intercept{model}                   0 if as many are admitted as predicted, on the log-odds
//	                                                        scale
//	wardcast_calibration_intercept_standard_error{model}    its standard error
//	wardcast_calibration_slope{model}                       1 if predictions are as spread as they should be
//	wardcast_calibration_slope_standard_error{model}        its standard error
//	wardcast_label_messages_total{result}                   predictions and outcomes read: used, refused, or full (too
//	                                                        many visits)
package watch
