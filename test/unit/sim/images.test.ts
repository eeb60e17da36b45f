import { describe, expect, it } from 'vitest';
import { readImage } from '../../../src/sim/images.ts';

/** Headers written out by hand from each format's specification. */
function base64(...parts: readonly (string | readonly number[])[]): string {
  return Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))),
  ).toString('base64');
}

const PADDING = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

describe('an image header', () => {
  it('tells the size of a PNG', () => {
    const data = base64(
      '\x89PNG\r\n\x1a\n',
      [0, 0, 0, 13],
      'IHDR',
      [0, 0, 2, 128],
      [0, 0, 1, 224],
      [8, 6, 0, 0, 0],
    );
    expect(readImage(data)).toEqual({ mediaType: 'image/png', width: 640, height: 480 });
  });

  it('tells the size of a GIF', () => {
    expect(readImage(base64('GIF87a', [0x40, 1, 0xf0, 0]))).toEqual({
      mediaType: 'image/gif',
      width: 320,
      height: 240,
    });
  });

  it('tells the size of a JPEG behind other segments', () => {
    const app0 = [0xff, 0xe0, 0, 16, ...PADDING, 0, 0];
    const table = [0xff, 0xc4, 0, 4, 0, 0];
    const frame = [0xff, 0xc2, 0, 17, 8, 0x01, 0x2c, 0x01, 0x90, 3, ...PADDING];
    expect(readImage(base64([0xff, 0xd8], app0, table, frame))).toEqual({
      mediaType: 'image/jpeg',
      width: 400,
      height: 300,
    });
  });

  it('tells the size of each WebP layout', () => {
    const riff = (kind: string, payload: readonly number[]) =>
      base64('RIFF', [0, 0, 0, 0], 'WEBP', kind, [0, 0, 0, 0], payload);
    const lossy = [0, 0, 0, 0x9d, 0x01, 0x2a, 100, 0, 50, 0];
    expect(readImage(riff('VP8 ', lossy))).toEqual({ mediaType: 'image/webp', width: 100, height: 50 });
    // 14 bits of width - 1, then 14 of height - 1: 99 | 49 << 14.
    const bits = 99 | (49 << 14);
    const lossless = [
      0x2f,
      bits & 255,
      (bits >> 8) & 255,
      (bits >> 16) & 255,
      (bits >> 24) & 255,
      ...PADDING,
    ];
    expect(readImage(riff('VP8L', lossless))).toEqual({ mediaType: 'image/webp', width: 100, height: 50 });
    const extended = [0, 0, 0, 0, 99, 0, 0, 49, 0, 0];
    expect(readImage(riff('VP8X', extended))).toEqual({ mediaType: 'image/webp', width: 100, height: 50 });
  });

  it('is not made up for anything else', () => {
    for (const data of [
      '',
      base64('hello, this is only text of some length'),
      base64([0xff, 0xd8, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0]),
    ]) {
      expect(readImage(data)).toBeNull();
    }
  });
});
