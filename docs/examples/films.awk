# Makes up ratings of films: awk -f films.awk >films.csv. Four kinds of film, and people who like one kind and dislike another;
# a linear congruential generator, so that everybody gets the same file.
function draw() { state = (state * 69069 + 1) % 4294967296; return state / 4294967296 }
BEGIN {
    OFS = ","
    kinds = split("western space crime comedy", kind, " ")
    of["western"] = "High Noon,Rio Bravo,The Searchers,Shane,Stagecoach,Red River,Winchester 73,The Big Country,Hondo"
    of["space"] = "Solaris,Alien,Forbidden Planet,Silent Running,Dark Star,Moon,Gravity,Outland,The Black Hole"
    of["crime"] = "The Big Sleep,Laura,The Third Man,Gilda,Rififi,The Killers,Notorious,Detour,Touch of Evil"
    of["comedy"] = "Ninotchka,Duck Soup,Some Like It Hot,The Apartment,His Girl Friday,Bringing Up Baby,Top Hat,The General,City Lights"
    for (k = 1; k <= kinds; k++) {
        count = split(of[kind[k]], title, ",")
        for (i = 1; i <= count; i++) { film[++films] = title[i]; is[films] = k; good[films] = draw() - 0.5 }
    }
    state = 12345
    print "user", "film", "rating"
    for (user = 1; user <= 400; user++) {
        likes = 1 + int(kinds * draw())
        dislikes = 1 + (likes + int((kinds - 1) * draw())) % kinds
        for (f = 1; f <= films; f++) {
            if (draw() > (is[f] == likes ? 0.6 : 0.3)) continue
            rating = 3.2 + good[f] + (is[f] == likes) * 1.3 - (is[f] == dislikes) * 1.3 + draw() - 0.5
            print "user" user, film[f], (rating < 1 ? 1 : (rating > 5 ? 5 : int(rating + 0.5)))
        }
    }
}
