// Package bedstream forecasts beds while notes are scored. It reads the predictions of all scorers and the outcomes of
// their visits, outside any consumer group, keeps a beds.Pool of who waits, publishes the demand of each ward on the
// clock, and answers for any moment of the last week and the next day.
//
// What it knows is a function of the two KafkaTopics: a process that starts reads them again, so that the same moment
// has the same forecast before and after. Nothing here can delay the scoring of notes: it reads at a bounded rate,
// makes one forecast at a time, and keeps a bounded number of visits, each under a hash of its name.
package bedstream
