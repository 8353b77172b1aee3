/** Name of the parameter in the fragment of a link to the Playground. */
export const shareParameter = 'share'

/** Returns JSON as a fragment of a link to the Playground: `#share=…`. */
export function shareFragment(shared: object): string {
  let binary = ''
  for (const byte of new TextEncoder().encode(JSON.stringify(shared))) binary += String.fromCharCode(byte)
  return `#${shareParameter}=${btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`
}
