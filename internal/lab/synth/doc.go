// Package synth generates triage notes that a nurse could have typed, from a known topic model and admission rule.
// Users can try the product without notes of their own. All
// phrases are invented; catalogue.yaml holds them.
//
// A visit has one presenting complaint. Its note mentions phrases of that complaint's topics, of topics that any
// complaint can have (transport, history, frailty, …) and, now and then, of a second complaint. The log-odds of
// admission are linear in what the note mentions:
//
//	logit P(admitted) = Intercept[c] + Σ_t Coefficient[t]·m[t] + Age·(age-50)/10
//	                  + Acuity·(acuity-3) + HR·(hr-85)/10 + SpO2·(spo2-97)
//
// Here m[t] counts the phrases of topic t in the note. Phrases that are denied ("denies …", "no …") count for nothing.
// Around the phrases are age and sex, durations, vital signs and empty words, in shorthand and with typing errors.
//
// Note i is a function of the settings and of i alone, so that generators can run in parallel. A Generator is safe for
// concurrent use, except Next.
package synth
