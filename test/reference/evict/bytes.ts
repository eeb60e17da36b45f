/** UTF-8, counted by hand. */
export function utf8Bytes(text: string): number {
  return [...text].reduce((sum, character) => sum + bytesOf(character.codePointAt(0) ?? 0), 0);
}

function bytesOf(point: number): number {
  if (point < 0x80) return 1;
  if (point < 0x800) return 2;
  return point < 0x1_0000 ? 3 : 4;
}
