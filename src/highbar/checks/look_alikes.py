"""Characters that look like an ASCII letter or digit, so that a reader takes them for it.

From Unicode's table of confusable characters (UTS 39), without those that compatibility form (NFKD) already maps, and
with a few small capitals and lower-case letters. A character that looks like a capital I means both `i` and `l`.
"""

from __future__ import annotations

from types import MappingProxyType

LOOK_ALIKES = MappingProxyType(
    {
        "2": "ƧϨᒿꙄꛯꝚ",
        "3": "ƷȜЗӠⳌꝪꞫ𑣊𖼻𝈆",
        "4": "Ꮞ𑢯",
        "5": "Ƽ𑢻",
        "6": "бᏮⳒ𑣕",
        "7": "𐓒𑣆𝈒",
        "8": "Ȣȣ৪੪ଃ𐌚",
        "9": "৭੧୨൭ⳊꝮ𑢬𑣌𑣖",
        "a": "ɑΑαАаᎪᗅᴀ⍺ꓮ𐊠𖽀",
        "b": "ƄʙΒβВЬвьᏏᏴᑲᖯᗷꓐꞴ𐊂𐊡𐌁",
        "c": "СсᏟᴄⲤⲥꓚꮯ𐊢𐌂𐐕𐐽𐔜𑣩𑣲🝌",
        "d": "đԁᎠᏧᑯᗞᗪᴅꓒꓓ",
        "e": "ΕεЕеҽᎬᴇ℮⋿ⴹꓰꬲ𐊆𑢦𑢮",
        "f": "ϜքᖴẝꓝꜰꞘꞙꬵ𐊇𐊥𐔥𑢢𑣂𝈓",
        "g": "ƍɡɢԌցᏀᏳᶃꓖ",
        "h": "ħʜΗНнһհᎻᏂᕼⲎꓧ𐋏",
        "i": "ıƖǀɩɪΙιІіӀӏ۱Ꭵᛁ∣⍳⏽Ⲓⵏꓲꙇꭵ𐊊𐌉𐌠𑣃𖼨",
        "j": "ͿϳЈјյᎫᒍᴊꓙꞲ",
        "k": "ΚκКкᏦᛕᴋⲔꓗ𐔘",
        "l": "łƖǀʟΙІӀӏ۱Ꮮᒪᛁ∣⏽ⲒⳐⵏꓡꓲ𐊊𐌉𐌠𐐛𐔦𑢣𑢲𖼖𖼨𝈪",
        "m": "ΜμϺМмᎷᗰᛖᴍⲘꓟ𐊰𐌑",
        "n": "ɴΝηոռⲚꓠ𐔓",
        "o": "øΟοσОоՕօ۵०০੦૦ଠ୦௦ం౦ಂ೦ംഠ൦ං๐໐ဝ၀ჿዐᴏᴑⲞⲟⵔ〇ꓳꬽ𐊒𐊫𐐄𐐬𐓂𐓪𐔖𑓐𑢵𑣈𑣗𑣠",
        "p": "ΡρРрքᏢᑭᴘ⍴Ⲣⲣꓑ𐊕",
        "q": "ԛգզⵕ",
        "r": "ƦʀгᎡᏒᖇᴦⲅꓣꭇꭈꮁ𐒴𖼵𝈖",
        "s": "ƽςЅѕՏᏕᏚꓢꜱꮪ𐊖𐐠𐑈𑣁𖼺",
        "t": "ΤτТтᎢᴛ⊤⟙Ⲧꓔ𐊗𐊱𐌕𑢼𖼊🝨",
        "u": "ʋυՍսሀᑌᴜ∪⋃ꓴꞟꭎꭒ𐓎𐓶𑢸𑣘𖽂",
        "v": "νѴѵ۷Ꮩᐯᴠ∨⋁ⴸꓦꛟꮩ𐔝𑜆𑢠𑣀𖼈𝈍",
        "w": "ɯωѡԜԝաᎳᏔᴡꓪꮃ𑜊𑜎𑜏𑣦𑣯",
        "x": "×ΧχХхᕁᕽ᙭᙮ᚷ╳⤫⤬⨯ⲬⵝꓫꞳ𐊐𐊴𐌗𐌢𐔧𑣬",
        "y": "ɣʏΥγУуҮүყᎩᎽᶌỿⲨꓬꭚ𐊲𑢤𑣜𖽃",
        "z": "ΖᏃᴢꓜꮓ𐋵𑢩𑣄𑣥",
    }
)
