/** A share from 0 to 1 as a bar. The figure itself is next to it. */
export function Bar({ share }: { share: number }) {
  return (
    <svg class="share" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" width="1000" height="8" />
      <rect class="span" width={Math.round(Math.min(Math.max(share, 0), 1) * 1000)} height="8" />
    </svg>
  )
}
