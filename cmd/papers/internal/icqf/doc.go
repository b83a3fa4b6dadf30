// Package icqf repeats table 1 of K. C. Lam, B. E. Mahony, A. Raznahan and F. Pereira, "Interpretable factorization of
// clinical questionnaires to identify latent factors of psychopathology": several criteria count the factors of
// questionnaires that are made of 10.
//
// Equal settings and seeds give equal numbers for every GOMAXPROCS; only the seconds differ. A run that ends early returns
// what it has.
package icqf
