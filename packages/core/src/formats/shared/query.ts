/** A whole number as a query writes it; undefined for anything else. */
export function wholeNumber(text: string): number | undefined {
  const number = Number(text)
  return text.trim() !== '' && Number.isSafeInteger(number) ? number : undefined
}
