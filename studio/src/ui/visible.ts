// Characters that cannot be seen, or that turn the text around them, are written out: nothing looks like what it is not.

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
// Joins emoji and letters of some scripts: seen in what it joins.
const JOINER = "\u200d";

/** *text* with hidden characters as "⟨U+200B⟩". */
export function visible(text: string): string {
  return text.replace(HIDDEN, (sign) =>
    sign === JOINER ? sign : `⟨U+${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`,
  );
}
