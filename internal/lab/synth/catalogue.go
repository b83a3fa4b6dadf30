package synth

// shift is what a mention of a topic adds to the vital signs.
type shift struct{ hr, sbp, rr, temp, spo2 float64 }

// ages says which patients a theme suits.
type ages int

const (
	anyone ages = iota
	children
	adults
)

func (a ages) suits(age float64) bool {
	return a == anyone || (a == adults) == (age >= 18)
}

// theme is a topic as it is written down here: phrases are separated by ';',
// and "(a|b)" within a phrase stands for a or b.
type theme struct {
	name        string
	who         ages
	weight      float64 // share among the themes of its complaint, before normalisation; of a shared theme its probability
	coefficient float64 // log-odds of admission per mention
	vitals      shift
	phrases     string
}

// presentation is a presenting complaint with its themes.
type presentation struct {
	name             string
	weight           float64 // share of the visits, before normalisation
	base             float64 // log-odds of admission before themes, age, acuity and vitals
	age, spread      float64 // mean and standard deviation in years
	children, female float64 // share of children, of women
	openings         string  // what the patient complains of, as phrases
	themes           []theme
}

// presentations are invented: no phrase is taken from a patient's record.
func presentations() []presentation {
	return append(chestAndBelly(), others()...)
}

// shared are the themes that any complaint can have.
func shared() []theme {
	return []theme{
		{"comorbid", adults, .28, .55, shift{}, "hx (chf|heart failure);hx copd on home o2;esrd on (hd|dialysis) mwf;hx (ca|cancer) on chemo;hx afib on (coumadin|warfarin|eliquis);(immunosuppressed|immunocompromised);s/p kidney transplant;hx cirrhosis;hx cad s/p cabg;(insulin dependent|iddm);multiple admissions this year;hx cva w/ residual weakness"},
		{"healthy", anyone, .24, -.55, shift{}, "no (pmh|past medical hx);no sig hx;otherwise healthy;takes no meds;(immunizations|shots) utd;no allergies, no meds;up to date on checkups;eating and drinking well"},
		{"ambulance", anyone, .22, .5, shift{hr: 3}, "(via|by|per) ems;bib ambulance;ems gave 500 ns;(ems|medics) report pt found on floor;arrived on stretcher;20g iv placed by medics;bib als;family called 911"},
		{"walked in", anyone, .3, -.45, shift{}, "(ambulatory|walked) to triage w/ steady gait;walked in;drove self;ambulates w/o difficulty;(talking|speaking) in full sentences;in nad;on phone in triage;resp even and unlabored"},
		{"frail", adults, .1, .7, shift{hr: 2, sbp: -3}, "from (snf|nursing home);lives at (nh|assisted living);bedbound at baseline;family reports decline;(not eating|poor po intake) x days;unable to care for self;lives alone, unable to get up;failure to thrive;sacral (decub|wound)"},
		{"minor", anyone, .08, -.9, shift{}, "needs work note;out of meds, needs refill;same as prior visits;here for recheck;(pcp|doctor) could not see pt today;sx resolved prior to arrival;wants to be checked out;req note for school"},
		{"referred", anyone, .08, .75, shift{}, "sent by (pcp|urgent care) for (eval|admission);abnl labs, told to come to ed;(transferred|sent) from osh;(hgb|hemoglobin) low per clinic;critical lab called;sent from clinic for abnl (ekg|ct);potassium high per (hd|dialysis) unit"},
	}
}

func chestAndBelly() []presentation {
	return []presentation{
		{"Chest Pain", 13, -2.3, 56, 17, .02, .48, "(chest pain|cp);(chest pressure|chest tightness);l sided (cp|chest pain);mid sternal (cp|chest pain)", []theme{
			{"coronary", adults, 25, .95, shift{hr: 4, sbp: 4}, "radiates to (l arm|jaw|left shoulder);crushing substernal pressure;(diaphoretic|sweating);(nitro|ntg) x3 w/o relief;st changes on ems (ekg|ecg);(troponin|trop) elevated;asa 324 given pta;hx of (mi|heart attack) w/ stents;exertional, relieved w/ rest;woke from sleep w/ pressure"},
			{"rhythm", anyone, 14, .7, shift{hr: 14, sbp: -3}, "(palpitations|heart racing);irregular heart rate;afib w/ rvr on monitor;(near syncope|lightheaded);svt on monitor, adenosine given;icd fired x2;runs of vtach per medics;pacemaker placed last month"},
			{"chest wall", anyone, 27, -.75, shift{}, "reproducible w/ (palpation|movement);worse w/ deep breath and twisting;after (lifting|moving) boxes;(tender|sore) over ribs;pulled muscle at gym;after coughing all week;sharp pain lasting seconds;(motrin|ibuprofen) w/ relief"},
			{"anxiety", anyone, 17, -.85, shift{hr: 5, rr: 2}, "(anxious|tearful) in triage;tingling in fingers and lips;hx (anxiety|panic attacks);hyperventilating;under stress at work;ran out of xanax;feels like prior panic attack;argument at home before onset"},
			{"reflux", anyone, 17, -.6, shift{}, "burning after (eating|spicy food);(tums|maalox) w/ some relief;hx (gerd|reflux);sour taste in mouth;worse lying flat after meals;belching, bloated;takes omeprazole;epigastric burning"},
		}},
		{"Shortness of Breath", 9, -1.5, 62, 18, .08, .5, "(sob|shortness of breath|dyspnea);(difficulty|trouble) breathing;(increased|worsening) (sob|dyspnea)", []theme{
			{"heart failure", adults, 26, .9, shift{sbp: 6, rr: 3, spo2: -1.5}, "(orthopnea|unable to lie flat);bilat (leg|ankle) (edema|swelling);(weight|wt) gain 10 lbs this week;missed (lasix|furosemide) doses;crackles bilat;sleeping in recliner;pillows x3;jvd noted;bipap started by medics;pnd at night"},
			{"copd", adults, 24, .75, shift{hr: 4, rr: 4, spo2: -2.5}, "(increased|more) sputum, green;wheezing (bilat|throughout);tripoding;home o2 increased to 4l;(nebs|duonebs) x3 w/ little relief;accessory muscle use;speaking 2-3 word sentences;solumedrol given by ems;smokes 1 ppd;intubated last year"},
			{"clot", anyone, 10, 1, shift{hr: 10, rr: 3, spo2: -2}, "pleuritic pain w/ hemoptysis;calf (swelling|pain) after long flight;recent (surgery|immobilization);hx (pe|dvt), off blood thinner;sudden onset, tachycardic;factor v, leg swollen;missed eliquis doses"},
			{"asthma mild", anyone, 24, -.8, shift{hr: 3, rr: 1}, "hx asthma, out of inhaler;(albuterol|inhaler) w/ relief;mild exp wheeze;seasonal allergies;ran out of (albuterol|advair);after cleaning w/ bleach;cat at friends house;peak flow near baseline"},
			{"upper airway", anyone, 16, -.9, shift{}, "nasal congestion;(uri|cold) sx;sore throat and runny nose;sick contacts at home;covid test negative;post nasal drip;feels like cannot get deep breath, sats ok;stuffy nose at night"},
		}},
		{"Abdominal Pain", 14, -2, 44, 19, .1, .6, "(abd pain|abdominal pain);(rlq|ruq|llq|epigastric) pain;(stomach pain|belly pain)", []theme{
			{"surgical", anyone, 23, 1, shift{hr: 6, temp: .3}, "(rebound|guarding) on exam;pain moved from umbilicus to rlq;rigid (abd|abdomen);(vomiting|emesis) bilious, no flatus;hx sbo, distended;ct from clinic shows appy;worse w/ bumps in car;free air per osh;hernia (hard|incarcerated), unable to reduce"},
			{"biliary", adults, 17, .6, shift{temp: .2}, "radiates to (r shoulder|back);after fatty meal;hx gallstones;(jaundice|yellow eyes);lipase elevated;dark urine and pale stools;hx pancreatitis, drinks daily;positive murphy sign"},
			{"gi bleed", adults, 11, 1.15, shift{hr: 10, sbp: -10}, "(black|tarry) stools;vomiting blood;(brbpr|bright red blood per rectum);coffee ground emesis;hx varices;on plavix and asa, dizzy;hgb 6 at clinic;passing clots from rectum"},
			{"gastroenteritis", anyone, 27, -.75, shift{hr: 3}, "(n/v/d|nausea vomiting diarrhea);ate leftover chicken;kids at home w/ same;loose stools x5;keeping down fluids;crampy, comes and goes;(zofran|ondansetron) w/ relief;after takeout last night"},
			{"pelvic urinary", anyone, 22, -.65, shift{}, "(burning|dysuria) w/ urination;urinary frequency;foul smelling urine;bladder pressure;urgency and frequency, afebrile;hx kidney stones, pain comes in waves;(constipated|no bm) x4 days;gas pain, passing gas"},
		}},
		{"Back Pain", 8, -2.9, 47, 16, .01, .5, "(low back pain|lbp);(back pain|lower back pain);r flank pain", []theme{
			{"mechanical", anyone, 50, -.5, shift{}, "after (lifting|bending);hx chronic back pain;pulled back at work;(flexeril|motrin) not helping;spasm, worse w/ movement;old mvc injury;out of pain meds;radiates down leg, hx sciatica;stiff in am"},
			{"red flags", anyone, 17, 1.25, shift{temp: .2}, "(urinary retention|unable to void);saddle (numbness|anesthesia);new leg weakness, cannot walk;hx ca w/ mets to spine;iv drug use w/ fevers;incontinent of stool;epidural abscess on mri;foot drop since yesterday"},
			{"renal", anyone, 20, .25, shift{hr: 4, temp: .3}, "(hematuria|blood in urine);cva tenderness;chills and vomiting;hx kidney stones;uti on abx not improving;stent placed last month;pain waves to groin;fever w/ flank pain"},
			{"fall fracture", anyone, 13, .55, shift{}, "(slipped|fell) on ice, midline tenderness;hx osteoporosis, compression fx;fell from ladder;unable to stand since fall;on steroids, sudden pain w/ cough;tender over l2"},
		}},
		{"General Weakness", 7, -1.1, 70, 15, .01, .55, "(weakness|gen weakness);(generalized weakness|fatigue);feeling weak", []theme{
			{"sepsis", anyone, 25, .85, shift{hr: 9, sbp: -9, rr: 2, temp: .5}, "(rigors|shaking chills);(confused|altered) since am;foul urine, foley;hypotensive w/ ems;lactate elevated;(pneumonia|pna) dx last week;mottled skin;fever at snf;not making urine"},
			{"metabolic", anyone, 22, .65, shift{hr: 4, sbp: -4}, "(missed|skipped) dialysis x2;glucose reads hi;potassium 6;sodium 118 at clinic;dark stools and pale;(aki|kidney failure) on labs;unable to get out of bed;recent chemo, anc low;hgb 5"},
			{"functional", anyone, 27, -.55, shift{}, "poor sleep;feels tired x months;normal labs last week;stress at home;new bp med, feels woozy;skipped breakfast;worked outside in heat, feels better now;drinking fluids ok"},
			{"viral", anyone, 26, -.45, shift{temp: .3}, "(body aches|myalgias);(flu|covid) positive at home;cough and congestion;(low grade temp|chills);grandkids sick;sore throat;loss of taste;(tylenol|acetaminophen) helps"},
		}},
	}
}
