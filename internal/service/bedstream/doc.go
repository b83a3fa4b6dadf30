// Package bedstream forecasts beds while notes are scored. It reads the predictions of all scorers and the outcomes of
// their visits, outside any consumer group, keeps a beds.Pool of who waits, publishes the demand of each ward on the
// clock, and answers for any moment of the last week and the next day.
//
// What it knows is a function of the two KafkaTopics: a process that starts reads them again, so that the same moment
// has the same forecast before and after. Nothing here can delay the scoring of notes: it reads at a bounded rate,
// makes one forecast at a time, and keeps a bounded number of visits, each under a hash of its name.
//
// Metrics:
//
//	wardcast_beds_patients_waiting            patients who wait for a decision
//	wardcast_beds_timed_out_patients          those without an outcome who lately left the pool for having waited too
//	                                          long
//	wardcast_beds_outcomes_stale              1 while no outcome came for an hour
//	wardcast_beds_visits                      visits that are remembered
//	wardcast_beds_forecast_timestamp_seconds  the moment of the latest forecasts
//	wardcast_beds_fit_damaged                 1 while the newest fit of beds in the store cannot be used
//	wardcast_beds_published_messages_total    forecasts published
//	wardcast_beds_skipped_messages_total      predictions and outcomes left out, by reason
package bedstream
