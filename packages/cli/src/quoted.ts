/** A text as a word of a shell's command line. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
