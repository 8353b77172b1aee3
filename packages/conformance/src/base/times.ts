/** Replaces times: some formats state the current time or measured durations in each response. */
export const withoutTimes = (text: string): string =>
  text
    .replaceAll(/"(created|created_at|completed_at|latencyMs|\w+_duration)":\s*\d+/g, '"$1":0')
    .replaceAll(/"(createTime|created_at)":\s*"[^"]*"/g, '"$1":""')
