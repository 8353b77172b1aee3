/** Without a tokenizer: four ASCII characters are a token, two of the other alphabets, one of everything else. */
export function tokensByCharacters(text: string): number {
  let quarters = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    quarters += code < 0x80 ? 1 : code < 0x800 ? 2 : 4
  }
  return Math.ceil(quarters / 4)
}
