/**
 * The built-in lessons, from easy to hard. Each is a map: `#` wall, `.` floor, `+` a door that a key opens, and where
 * things may lie at the beginning: `s` an agent, `g` a goal, `k` the key, `*` an agent or a goal, `&` an agent or the
 * key. Around the map is wall.
 *
 * Chance solves 99% of the episodes of `near`, 41% of `far`, 9% of `wall`, 4% of `door`, 2% of `rooms`, 1% of
 * `corridors`, and less than one in 50,000 of `maze`, whose way is some forty steps long.
 */
export const gridLessons: Readonly<Record<string, readonly string[]>> = {
  near: [
    "#########",
    "#########",
    "#########",
    "###***###",
    "###***###",
    "###***###",
    "#########",
    "#########",
    "#########",
  ],
  far: Array.from({ length: 9 }, () => "*********"),
  wall: [
    "ssss#gggg",
    "ssss#gggg",
    "ssss#gggg",
    "ssss#gggg",
    "ssss.gggg",
    "ssss#gggg",
    "ssss#gggg",
    "ssss#gggg",
    "ssss#gggg",
  ],
  door: [
    "&&&&#gggg",
    "&&&&#gggg",
    "&&&&#gggg",
    "&&&&#gggg",
    "&&&&+gggg",
    "&&&&#gggg",
    "&&&&#gggg",
    "&&&&#gggg",
    "&&&&#gggg",
  ],
  rooms: [
    "&&&&#&&&&",
    "&&&&#&&&&",
    "&&&&.&&&&",
    "&&&&#&&&&",
    "##.####+#",
    "&&&&#gggg",
    "&&&&#gggg",
    "&&&&#gggg",
    "&&&&#gggg",
  ],
  corridors: [
    "&&&&#gggg",
    "###&#g##g",
    "&&&&#g#gg",
    "&####g#g#",
    "&&&&+g#gg",
    "###&####g",
    "&&&&#gg#g",
    "&#####g#g",
    "&&&&#gggg",
  ],
  maze: [
    "ss..#....",
    "###.#.##.",
    "....#.#gg",
    ".####.#g#",
    "....+.#gg",
    "###.####.",
    "....#..#.",
    ".#####.#.",
    "kk..#....",
  ],
};
