const endings: Readonly<Record<string, string>> = {
  jpeg: 'jpg',
  mpeg: 'mp3',
  'x-wav': 'wav',
  wave: 'wav',
  plain: 'txt',
}

/** Returns a file name for a type: `image-1` and `image/png` are `image-1.png`. */
export function fileName(stem: string, type: string): string {
  const subtype = /^[\w-]+\/([\w.+-]+)/.exec(type)?.[1] ?? 'bin'
  return `${stem}.${endings[subtype] ?? subtype}`
}

/** Returns base64 as a file. */
export const fileOf = (base64: string, name: string, type: string): File =>
  new File([Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))], name, { type })
