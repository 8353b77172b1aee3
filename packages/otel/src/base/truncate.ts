/** Cuts a text that a client can make as long as it likes. */
export const truncate = (text: string, chars = 256): string =>
  text.length > chars ? `${text.slice(0, chars - 1)}…` : text
