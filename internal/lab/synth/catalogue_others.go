package synth

func others() []presentation {
	return []presentation{
		{"Lower Extremity Injury", 9, -2.6, 46, 24, .16, .53, "(r|l) (hip|leg) pain s/p fall;(r|l) (ankle|foot|knee) (pain|injury);(twisted|rolled) (r|l) ankle;glf at home, (r|l) hip pain", []theme{
			{"hip fracture", adults, 24, 1.3, shift{hr: 3}, "leg shortened (and|+) (externally rotated|rotated);unable to (wt bear|bear weight);(fx|fracture) on xray at snf;groin pain w/ log roll;found on floor this am;(hip|femur) deformity;traction splint by ems;hx osteoporosis"},
			{"open or vascular", anyone, 9, 1.25, shift{hr: 6}, "bone (visible|exposed);open (fx|fracture);cold foot, no (dp|pedal) pulse;(crush|crushed) under forklift;compartment tight, severe pain;motorcycle vs car;near amputation"},
			{"sprain", anyone, 37, -.8, shift{}, "(playing|during) (soccer|basketball);stepped off curb;swelling over lateral malleolus;(ice|ibuprofen) at home;able to (wt bear|bear weight) w/ limp;heard pop;stubbed toe on door;wearing ace wrap;wants xray"},
			{"wound infection", anyone, 17, .15, shift{temp: .2}, "redness spreading up leg;diabetic foot ulcer;(pus|drainage) from wound;stepped on nail;dog bite to calf;warm, swollen, tender;on keflex x3 days not better;failed po abx"},
			{"laceration", anyone, 13, -.85, shift{}, "(lac|laceration) to shin;bleeding controlled;cut w/ (glass|lawn tool);tetanus utd;1 inch lac to foot;needs sutures;splinter in heel"},
		}},
		{"Fever", 7, -2, 24, 26, .5, .5, "fever;(fever|temp) at home 102;(febrile|fever and chills)", []theme{
			{"child viral", children, 38, -.75, shift{hr: 6, temp: .8}, "(runny nose|congestion) and cough;pulling at ears;(making|normal) wet diapers;daycare contacts sick;(tylenol|motrin) given at home;playful in triage;drinking bottle well;barky cough;rash on trunk"},
			{"serious bacterial", anyone, 25, .9, shift{hr: 10, sbp: -6, rr: 3, temp: 1}, "(lethargic|listless);neutropenic on chemo;port site red;(stiff neck|photophobia);rigors in triage;petechial rash;hypotensive at clinic;central line in place"},
			{"urinary or lung", anyone, 20, .5, shift{hr: 5, temp: .7, spo2: -.8}, "productive cough w/ rust sputum;(foley|suprapubic catheter) w/ cloudy urine;flank pain and vomiting;infiltrate on xray;(uti|pna) failed abx;confused w/ fever;rales r base"},
			{"strep and flu", anyone, 17, -.6, shift{temp: .6}, "sore throat, hurts to swallow;white patches on tonsils;(body aches|myalgias);flu going around school;headache w/ fever;taking dayquil;swollen glands"},
		}},
		{"Altered Level of Consciousness", 4, -.5, 65, 20, .02, .48, "(ams|altered mental status);(confusion|confused);(unresponsive|decreased loc)", []theme{
			{"delirium", adults, 32, .65, shift{hr: 5, temp: .4}, "(not acting right|more confused) per family;uti last week;pulling at lines at snf;new incontinence;oriented to self only;hx dementia, worse than baseline;fever at nh;stopped eating"},
			{"intracranial", anyone, 18, 1.15, shift{sbp: 14}, "(gcs|gcs of) 8;fixed gaze, pupils unequal;on (coumadin|eliquis) w/ head strike;(vomiting|emesis) w/ severe headache;posturing;bleed on osh ct;sudden collapse"},
			{"intoxication", adults, 30, -.85, shift{}, "(etoh|alcohol) on breath;(found|picked up) outside bar;arousable, slurred;(narcan|naloxone) given, now awake;hx substance use;sleeping it off;empty vodka bottle;told police took pills for fun"},
			{"glucose or seizure", anyone, 20, .1, shift{hr: 4}, "(bgl|glucose) 32, d50 given, now alert;(witnessed|tonic clonic) seizure;missed keppra;(postictal|post ictal) on arrival;bit tongue;tremors, stopped drinking 2 days ago;on insulin, skipped lunch"},
		}},
		{"Stroke Symptoms", 4, -.4, 68, 15, 0, .5, "(stroke sx|poss stroke);(r|l) sided (weakness|numbness);(facial droop|slurred speech)", []theme{
			{"deficit", anyone, 50, .9, shift{sbp: 14}, "(facial droop|face drooping);(arm|grip) weak, drift;(aphasic|word finding difficulty);last known well 0800;code stroke called;gaze deviation to l;nihss 14;hemiparesis;slurred speech noted by family"},
			{"transient", adults, 22, .1, shift{sbp: 8}, "(resolved|gone) before arrival;lasted 10 min;hx tia;now back to baseline;numb hand for an hour;vision went dark in one eye"},
			{"mimic", anyone, 28, -.9, shift{}, "hx migraine w/ aura;tingling both hands;whole body numb;(bells palsy|cannot close eye);anxious, breathing fast;pinched nerve in neck;spinning when turning head;slept on arm"},
		}},
		{"Cough", 7, -2.4, 38, 25, .3, .52, "cough;(cough|coughing) x 1 wk;(productive|dry) cough", []theme{
			{"pneumonia", anyone, 23, .9, shift{hr: 5, rr: 3, temp: .5, spo2: -2}, "(rales|crackles) r base;sats 88 ra;(pna|pneumonia) on xray;rust colored sputum;(pleuritic|chest) pain w/ breathing;failed azithro;rigors;aspirated at snf"},
			{"bronchitis", anyone, 40, -.65, shift{}, "(runny nose|congestion);(robitussin|mucinex) not helping;cough keeps up at night;kids have same;clear sputum;hoarse voice;post nasal drip;lungs clear"},
			{"alarm", anyone, 12, 1, shift{hr: 4}, "(hemoptysis|coughing up blood);night sweats and weight loss;tb exposure;lung mass on ct;on chemo;lung transplant pt"},
			{"croup or wheeze", children, 25, -.3, shift{hr: 4, rr: 2}, "barky cough;(stridor|noisy breathing) at night;(albuterol|neb) helped;hx asthma;retracting mildly;decadron by ems;bronchiolitis dx by peds"},
		}},
		{"Head Injury", 6, -2.6, 40, 27, .3, .45, "(head injury|hit head);(fell|fall) w/ head (strike|injury);lac to (forehead|scalp)", []theme{
			{"bleed risk", anyone, 26, 1.15, shift{sbp: 6}, "on (coumadin|eliquis|plavix);(loc|passed out) 5 min;repetitive questioning;vomited x3 since;sdh on osh ct;(gcs 13|drowsy);battle sign;blood from ear;unequal pupils"},
			{"major mechanism", anyone, 14, .9, shift{hr: 6}, "ejected from vehicle;fell 15 ft off roof;(ped|pedestrian) struck by car;rollover mvc;trauma alert;assaulted w/ bat;c collar in place, neck pain"},
			{"minor bump", anyone, 30, -.85, shift{}, "(no loc|denies loc);ran into door;bumped head on cabinet;small hematoma;stood up under shelf;hit by hatch of car;remembers everything;bump to forehead, no pain now"},
			{"child bump", children, 40, -.95, shift{}, "cried right away;playing normally;mom wants checked;hit by ball at recess;acting normal per mom;rolled off couch;fell off scooter, helmet on;ate snack after"},
			{"concussion", anyone, 22, -.5, shift{}, "(headache|ha) since game;dizzy w/ screens;(foggy|trouble concentrating);prior concussion;nausea, light bothers eyes;coach pulled from practice"},
		}},
		{"Allergic Reaction", 4, -2.7, 33, 19, .25, .58, "(allergic reaction|allergic rxn);(hives|rash);(lip|face) swelling", []theme{
			{"anaphylaxis", anyone, 26, 1.05, shift{hr: 9, sbp: -10, rr: 3, spo2: -1}, "(epi|epipen) x2;throat (closing|tightness);tongue swollen, drooling;hypotensive w/ ems;wheezing and vomiting after peanuts;stridor;on epi drip;intubated for same last yr"},
			{"ace angioedema", anyone, 12, .9, shift{}, "on lisinopril, lip swelling;tongue swelling worse over hours;voice muffled;hx angioedema;ffp given at osh"},
			{"hives only", anyone, 62, -.55, shift{}, "itchy (rash|hives) on arms;(benadryl|zyrtec) w/ relief;new (soap|detergent);poison ivy;started amoxicillin;bee sting to hand;airway patent;hives come and go;no resp distress"},
		}},
		{"Upper Extremity Injury", 6, -3, 34, 22, .28, .45, "(r|l) (wrist|hand|arm) (pain|injury);(r|l) shoulder injury;(cut|lac) to (r|l) (hand|finger)", []theme{
			{"fracture", anyone, 30, .45, shift{}, "(deformity|deformed);foosh;numb fingers;splint by ems;(fx|fracture) displaced on xray;dislocated, hx same;swollen, will not move arm"},
			{"severe hand", anyone, 10, 1.25, shift{hr: 4}, "(finger|thumb) amputated, on ice;tendon exposed;flexor sheath infection;high pressure injection;(saw|grinder) injury;open (fx|fracture);iv drug abscess w/ fever"},
			{"minor", anyone, 60, -.55, shift{}, "slammed in car door;(cut|sliced) w/ knife cooking;bleeding controlled;tetanus utd;fell off bike;nursemaid elbow;jammed finger w/ ball;moves all fingers;sore after gym"},
		}},
	}
}
