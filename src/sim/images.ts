/** Reads what an image's own header says: media type and size. No pixel is decoded. */

export interface ImageFacts {
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
  readonly width: number;
  readonly height: number;
}

/** Base64 characters that are decoded: JPEG may carry 64 KiB of metadata per segment before its frame. */
const MAX_HEADER_CHARS = 400_000;

/** null when the data is no image of a known kind, or is cut before its size. */
export function readImage(base64: string): ImageFacts | null {
  const bytes = Buffer.from(base64.slice(0, MAX_HEADER_CHARS), 'base64');
  return readPng(bytes) ?? readGif(bytes) ?? readWebp(bytes) ?? readJpeg(bytes);
}

function readPng(bytes: Buffer): ImageFacts | null {
  if (bytes.length < 24 || bytes.toString('latin1', 1, 4) !== 'PNG') return null;
  return { mediaType: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function readGif(bytes: Buffer): ImageFacts | null {
  if (bytes.length < 10 || !/^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6))) return null;
  return { mediaType: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

/** Three layouts: lossy `VP8 `, lossless `VP8L`, extended `VP8X`. */
function readWebp(bytes: Buffer): ImageFacts | null {
  if (bytes.length < 30 || bytes.toString('latin1', 0, 4) !== 'RIFF') return null;
  if (bytes.toString('latin1', 8, 12) !== 'WEBP') return null;
  const mediaType = 'image/webp';
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { mediaType, width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { mediaType, width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8X':
      return { mediaType, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return null;
  }
}

/** Walks the segments to the start-of-frame marker, which holds the size. */
function readJpeg(bytes: Buffer): ImageFacts | null {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return null;
  let at = 2;
  while (at + 9 <= bytes.length) {
    if (bytes[at] !== 0xff) return null;
    const marker = bytes[at + 1] ?? 0;
    if (isStartOfFrame(marker)) {
      return {
        mediaType: 'image/jpeg',
        width: bytes.readUInt16BE(at + 7),
        height: bytes.readUInt16BE(at + 5),
      };
    }
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return null;
}

/** C4, C8 and CC share the range and are tables, not frames. */
function isStartOfFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}
