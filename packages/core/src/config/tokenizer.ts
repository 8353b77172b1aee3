/** Counts a text's tokens. */
export type Tokenizer = (text: string) => number | Promise<number>
