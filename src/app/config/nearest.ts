/** The known name someone probably meant, or null when none is close. */
export function nearestName(wanted: string, known: readonly string[]): string | null {
  let best: string | null = null;
  // A third of the name may differ, and two letters in any case: beyond that a guess misleads.
  let bestDistance = Math.max(2, Math.floor(wanted.length / 3)) + 1;
  for (const name of known) {
    const distance = editDistance(wanted.toLowerCase(), name.toLowerCase());
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** Insertions, deletions and replacements that turn one text into the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let line = 1; line <= from.length; line += 1) {
    const next = [line];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (from[line - 1] === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
