/** The longest word that counts as one token. */
const maxTokenLength = 12

/** Splits a text into tokens as the fake counts and streams it: a word with the space before it. Joined, they are the text. */
export const tokenize = (text: string): string[] => text.match(/\s*\S{1,12}|\s+/gu) ?? []

/** Counts the tokens of `tokensOf` without allocating them: prompts can be long. */
export function countTokens(text: string): number {
  let count = 0
  let word = 0
  let spaces = false
  for (const character of text) {
    if (/\s/u.test(character)) {
      word = 0
      spaces = true
    } else {
      if (word % maxTokenLength === 0) count++
      word++
      spaces = false
    }
  }
  return spaces ? count + 1 : count
}
