/**
 * Encodes a model's name for the path of a URL, with its slashes kept. The app may take the name from its own users, so it must not lead to
 * another path of the gateway.
 *
 * @throws TypeError for a name with an empty segment, a segment `.` or `..`, or half of a surrogate pair
 */
export function encodeModelName(modelId: string): string {
  const segments = modelId.split('/')
  if (segments.some((segment) => ['', '.', '..'].includes(segment)) || /[\ud800-\udfff]/u.test(modelId))
    throw new TypeError(
      `Invalid model name '${modelId.slice(0, 100)}': its parts between slashes must be valid text, not empty, and neither '.' nor '..'.`,
    )
  return segments.map(encodeURIComponent).join('/')
}
